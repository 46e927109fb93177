"""The documentation site: collects the pages, makes a reference from the code, builds the site, and checks every link.

``python -m lab.site build/site`` does all of it; a warning of the generator or a broken link is an error.
"""
