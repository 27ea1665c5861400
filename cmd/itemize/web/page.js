"use strict";
// Draws the total cost of layouts since the first write. Both axes are logarithmic, so that one chart shows
// layouts whose prices differ a thousandfold, and a break-even after an hour or a year.
(function () {
	const style = getComputedStyle(document.documentElement);
	const color = name => style.getPropertyValue(name).trim();
	const dashes = [[], [9, 3], [3, 3], [9, 3, 2, 3], [14, 4], [2, 5]];

	const time = days => {
		const units = [["year", 365], ["month", 30], ["day", 1], ["hour", 1 / 24], ["minute", 1 / 1440], ["second", 1 / 86400]];
		for (const [name, size] of units) {
			const n = days / size;
			if (n >= 0.999) {
				const text = n >= 10 ? Math.round(n).toLocaleString("en") : String(Math.round(n * 10) / 10);
				return text + " " + name + (text === "1" ? "" : "s");
			}
		}
		return "";
	};
	// times are the marks of the time axis.
	const times = (from, to) => [1 / 86400, 1 / 1440, 1 / 24, 1, 30, 365, 3650].filter(d => d >= from * 0.999 && d <= to);
	const money = n => n === null || n === undefined ? "" :
		"$" + (n >= 100 ? Math.round(n).toLocaleString("en") : String(Number(n.toPrecision(3))));

	function draw(figure) {
		const chart = JSON.parse(figure.querySelector("script").textContent);
		const days = [];
		for (let i = 0; i <= 120; i++) {
			days.push(chart.from * Math.pow(chart.to / chart.from, i / 120));
		}
		const data = [days];
		const series = [{ label: "after", value: (u, v) => v === null ? "" : time(v) }];
		chart.layouts.forEach((l, i) => {
			data.push(days.map(d => l.insert + l.month * d / 30));
			series.push({
				label: l.name, stroke: color("--c" + i % 6), width: 2, dash: dashes[i % 6], points: { show: false },
				value: (u, v) => money(v),
			});
		});
		const axis = values => ({
			stroke: color("--fg"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line"), width: 1 }, values,
		});
		const crossings = u => {
			u.ctx.save();
			u.ctx.fillStyle = color("--fg");
			for (const c of chart.crossings || []) {
				u.ctx.beginPath();
				u.ctx.arc(u.valToPos(c.days, "x", true), u.valToPos(c.dollars, "y", true), 4 * devicePixelRatio, 0, 2 * Math.PI);
				u.ctx.fill();
			}
			u.ctx.restore();
		};
		const width = () => Math.max(280, figure.clientWidth);
		const plot = new uPlot({
			width: width(), height: 340, series,
			scales: { x: { time: false, distr: 3 }, y: { distr: 3 } },
			axes: [Object.assign(axis((u, all) => all.map(time)), {
				splits: () => times(chart.from, chart.to), filter: (u, all) => all,
			}),
				Object.assign(axis((u, all) => all.map(v => v === null ? "" : money(v))), { size: 76 })],
			cursor: { drag: { x: false, y: false } },
			hooks: { draw: [crossings] },
		}, data, figure);
		new ResizeObserver(() => plot.setSize({ width: width(), height: 340 })).observe(figure);
		figure.dataset.drawn = "true";
	}
	document.querySelectorAll("figure[data-chart]").forEach(draw);
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => location.reload());
})();
