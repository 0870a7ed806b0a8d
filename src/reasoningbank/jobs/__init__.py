"""Durable background work: queue, worker, schedule."""
