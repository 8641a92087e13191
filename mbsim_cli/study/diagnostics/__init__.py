"""What watches a run go by, block by block, and says in sentences what a careful reader would notice."""
