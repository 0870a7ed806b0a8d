"use strict";
// Draws the confidence of a memory after each piece of evidence, in the colours of the page.
(() => {
  const place = document.querySelector("[data-chart]");
  if (!place || typeof uPlot === "undefined") return;
  const data = JSON.parse(document.getElementById(place.dataset.chart).textContent);
  const at = [...data.at], confidence = [...data.confidence];
  at.push(Math.max(Date.now() / 1000, at[at.length - 1] + 1));
  confidence.push(confidence[confidence.length - 1]);

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  let plot = null;
  const draw = () => {
    plot?.destroy();
    const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
    plot = new uPlot({
      width: place.clientWidth,
      height: 200,
      scales: { y: { range: [0, 1] } },
      axes: [axis, { ...axis, size: 44, splits: () => [0, 0.25, 0.5, 0.75, 1], values: (_, ticks) => ticks.map((tick) => tick.toFixed(2)) }],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false } },
      hooks: { setCursor: [(drawn) => read(drawn.cursor.idx)] },
      series: [
        {},
        {
          stroke: colour("--accent"),
          width: 2,
          paths: uPlot.paths.stepped({ align: 1 }),
          points: { show: (_, __, from, to) => to - from < 200, size: 6, fill: colour("--card") },
        },
        { stroke: colour("--quiet"), dash: [4, 4], width: 1, points: { show: false } },
      ],
    }, [at, confidence, at.map(() => 0.7)], place);
  };
  const reading = document.getElementById("reading");
  const read = (index) => {
    if (index === null || index === undefined) { reading.textContent = "The dashed line is where a memory counts as proven."; return; }
    const day = new Date(at[index] * 1000).toISOString().slice(0, 16).replace("T", " ");
    reading.textContent = `${day}, ${confidence[index].toFixed(3)}: ${data.said[index] ?? "now"}`;
  };
  draw();
  read(null);
  place.dataset.drawn = String(confidence.length);
  new ResizeObserver(() => plot?.setSize({ width: place.clientWidth, height: 200 })).observe(place);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
