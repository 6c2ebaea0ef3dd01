"""`make corpus`: repairs known to be wrong or right, and how often their grading is fooled."""
