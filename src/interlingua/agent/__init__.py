"""Holding a conversation: sessions, tools, routing between models, and moving from one model to another."""
