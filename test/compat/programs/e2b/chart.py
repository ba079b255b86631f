import base64

from e2b_code_interpreter import Sandbox

code = """
import matplotlib.pyplot as plt

plt.bar(["a", "b", "c"], [3, 1, 2])
plt.title("bar chart")
plt.ylabel("Count (pieces)")
plt.show()
"the text of the cell"
"""

with Sandbox.create() as sandbox:
    execution = sandbox.run_code(code)
    print(execution.text)
    for result in execution.results:
        if result.png:
            image = base64.b64decode(result.png)
            kind = "a PNG image" if image.startswith(b"\x89PNG") else "something else"
            print(kind, "that is the main result" if result.is_main_result else "beside the main result")
            chart = result.chart
            print(chart.type.value, chart.title, chart.y_unit, [(bar.label, bar.value) for bar in chart.elements])
