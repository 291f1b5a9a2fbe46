"""The interactive shell: where statements end, what they do, what completes them, and the terminal they come from."""
