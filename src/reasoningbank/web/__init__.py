"""REST and WebSocket beside the MCP server: workflows, the graph, lessons, questions; see docs/reference/web.md."""
