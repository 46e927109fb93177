"""The engine of rows: a dialect's phrases as data, what they mean (``row``, ``table``) and the code made of them."""
