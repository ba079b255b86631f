"""What the drop-in for the reference's client consists of, apart from its public modules."""
