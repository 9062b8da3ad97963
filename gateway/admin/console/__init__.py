"""The console: pages of what an admin can do. How a part adds its own is told in `web.py`."""
