"""The compiler: an API document and a reviewed manifest in, a bundle out."""
