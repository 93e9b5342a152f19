"""What a line, a ref or a slice says, from plain text alone. No framework, clock or dice."""
