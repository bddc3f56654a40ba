"""What the extension costs and how well it learns, measured; see README.md beside this file."""
