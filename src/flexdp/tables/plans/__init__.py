"""Plans of relations, lazy frames, DataFrames and views: are their rows records?

A count is private if one record makes, or changes, one row. In ``x - mean(x)``, a window, a limit or a join, one record
moves other rows, too, and the promise would be false. Plans that work row by row pass; everything else is refused
unless the caller vouches for it. Nothing of a plan is repeated in a message: it may hold constants and numbers of rows.
"""

__all__: list[str] = []
