"""The contract model: what an operation is, how it is named, and how a catalog is written."""
