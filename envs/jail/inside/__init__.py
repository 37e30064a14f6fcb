"""Code that runs inside the jail. Standard library only; its text is sent in, so no file of ours is there."""
