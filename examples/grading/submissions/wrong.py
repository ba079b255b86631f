numbers = input().split()
print(int(numbers[-1]) - int(numbers[0]))
