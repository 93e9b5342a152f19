"""Two texts compared: word by word where that can be read, else side by side."""
