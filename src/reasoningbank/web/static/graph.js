"use strict";
// Draws a walk and plays it back: each path hop by hop, with the sentence of the edge that it goes along.
(() => {
  const place = document.querySelector("[data-graph]");
  if (!place || typeof cytoscape === "undefined") return;
  const data = JSON.parse(document.getElementById(place.dataset.graph).textContent);
  const caption = document.getElementById("caption");
  const button = document.getElementById("play");
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const shapes = { UserRequest: "round-rectangle", UserPreference: "tag", AgentAnswer: "ellipse", AgentAction: "diamond", Event: "hexagon", DataSource: "barrel" };

  const style = () => [
    { selector: "node", style: { "background-color": colour("--band"), "border-width": 1.5, "border-color": colour("--accent"), shape: (node) => shapes[node.data("label")] || "ellipse", width: 26, height: 26, label: "data(text)", color: colour("--ink"), "font-size": 13, "text-wrap": "wrap", "text-max-width": 150, "text-valign": "bottom", "text-margin-y": 5 } },
    { selector: "node[?seed]", style: { "background-color": colour("--accent"), width: 34, height: 34 } },
    { selector: "edge", style: { width: (edge) => 1 + 2 * edge.data("weight"), "line-color": colour("--quiet"), "target-arrow-color": colour("--quiet"), "target-arrow-shape": "triangle", "curve-style": "bezier", opacity: 0.6 } },
    { selector: ".lit", style: { "line-color": colour("--accent"), "target-arrow-color": colour("--accent"), "border-width": 4, opacity: 1, width: 4 } },
    { selector: "node.lit", style: { width: 34, height: 34 } },
    { selector: ".faint", style: { opacity: 0.18 } },
  ];
  const graph = cytoscape({
    container: place,
    elements: [...data.nodes.map((node) => ({ data: node })), ...data.edges.map((edge) => ({ data: edge }))],
    style: style(),
    layout: {
      name: "breadthfirst",
      roots: data.nodes.filter((node) => node.seed).map((node) => node.id),
      direction: place.clientWidth > 600 ? "rightward" : "downward",
      nodeDimensionsIncludeLabels: true,
      avoidOverlap: true,
      spacingFactor: 1.15,
      padding: 24,
    },
    maxZoom: 2.5, minZoom: 0.2,
  });
  place.dataset.drawn = String(graph.elements().length);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => graph.style(style()));
  document.getElementById("fit").addEventListener("click", () => graph.fit(undefined, 30));
  graph.on("tap", "node, edge", (event) => { caption.textContent = event.target.data("text"); });

  const clear = () => graph.elements().removeClass("lit faint");
  const light = (path, hops) => {
    clear();
    graph.elements().addClass("faint");
    path.nodes.slice(0, hops + 1).forEach((id) => graph.getElementById(id).removeClass("faint").addClass("lit"));
    path.edges.slice(0, hops).forEach((id) => graph.getElementById(id).removeClass("faint").addClass("lit"));
    const at = hops ? graph.getElementById(path.edges[hops - 1]) : graph.getElementById(path.nodes[0]);
    caption.textContent = at.length ? at.data("text") : "";
  };
  document.querySelectorAll("[data-path]").forEach((entry) => {
    const path = data.paths[Number(entry.dataset.path)];
    const shown = () => { if (path) light(path, path.edges.length); };
    entry.addEventListener("mouseenter", shown);
    entry.addEventListener("focusin", shown);
  });

  let timer = null;
  const stop = () => {
    clearInterval(timer);
    timer = null;
    button.textContent = "Play";
    button.setAttribute("aria-pressed", "false");
  };
  button.addEventListener("click", () => {
    if (timer !== null) { stop(); clear(); return; }
    const frames = data.paths.flatMap((path) => Array.from({ length: path.edges.length + 1 }, (_, hops) => [path, hops]));
    let number = 0;
    const next = () => {
      if (number >= frames.length) { stop(); place.dataset.played = "yes"; return; }
      light(...frames[number]);
      number += 1;
    };
    button.textContent = "Stop";
    button.setAttribute("aria-pressed", "true");
    next();
    timer = setInterval(next, calm ? 1600 : 900);
  });
})();
