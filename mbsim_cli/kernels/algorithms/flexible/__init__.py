"""Bodies that deform, as any system sees them."""
