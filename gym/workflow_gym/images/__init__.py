"""Guest images: recipes, and what is built from them."""
