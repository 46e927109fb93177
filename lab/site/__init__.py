"""The documentation site: pages put together, a reference made of the code, the build, and a check of every link.

``python -m lab.site build/site`` does all of it; a warning of the generator or a link that leads nowhere is an error.
"""
