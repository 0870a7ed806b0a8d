"""Search: query, legs, fusion, relevance floor, experience, briefing, snapshots."""
