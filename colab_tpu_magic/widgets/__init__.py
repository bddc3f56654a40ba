"""Live views, cards and static pictures: core ipywidgets and SVG, no JavaScript of our own."""
