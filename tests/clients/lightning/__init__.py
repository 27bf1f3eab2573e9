"""A small stand-in for Lightning: only the order in which its Trainer calls hooks."""
