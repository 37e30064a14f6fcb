"""Chess puzzles, played move by move against the stored reply."""
