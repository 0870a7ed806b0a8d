"""A bank behind the interfaces of agents' frameworks: each module needs the framework's own package, an extra.

``memory_tool``: Anthropic's memory tool (``pip install 'reasoningbank[anthropic]'``).
``langgraph``: LangGraph's store (``pip install 'reasoningbank[langgraph]'``).
"""
