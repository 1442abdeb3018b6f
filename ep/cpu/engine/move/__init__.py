"""The move engine: units of bytes moved over a walk, whatever the data type, as Expand and Gather do."""
