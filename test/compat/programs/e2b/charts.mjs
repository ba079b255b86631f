import { Sandbox } from "@e2b/code-interpreter";

const sandbox = await Sandbox.create();
const { results } = await sandbox.runCode(`
import matplotlib.pyplot as plt
figure, (left, right) = plt.subplots(1, 2)
left.plot([1, 2, 3], [1, 4, 9], label="squares")
left.set_xlabel("Time (s)")
right.pie([1, 3], labels=["small", "large"])
`);
const { chart } = results.find((result) => result.chart);
console.log(chart.type, chart.elements.map(({ type }) => type).join(", "));
const [lines, pie] = chart.elements;
console.log(lines.x_unit, lines.x_scale, JSON.stringify(lines.elements));
console.log(pie.elements.map(({ label, angle }) => `${label} ${angle}`).join(", "));
await sandbox.kill();
