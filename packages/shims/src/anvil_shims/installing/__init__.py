"""What installing into a harness, and looking after it, needs whatever the harness is."""
