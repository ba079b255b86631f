def total(prices: list[float], discount: float = 0) -> float:
    """The sum of the prices, less the discount in percent."""
    return sum(prices) * (1 - discount)
