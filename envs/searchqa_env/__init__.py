"""Questions about countries, answered with a search tool."""
