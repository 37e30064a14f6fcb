"""Task sets from the Hugging Face hub: sources, a lock of what they hold, checks, splits without overlap."""
