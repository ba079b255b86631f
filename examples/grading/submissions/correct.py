numbers = [int(word) for word in input().split()]
print(max(numbers) - min(numbers))
