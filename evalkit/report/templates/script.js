"use strict";
// Lists the trials of the page and unpacks their traces when asked. Text reaches the page through textContent alone.
(() => {
  const PAGE = 40;
  const OUTCOMES = ["failed", "error", "passed"];
  const MARKS = { failed: "✗", error: "!", passed: "✓" };
  const SYMBOLS = { thought: "…", model: "●", call: "→", result: "←", retry: "↻", note: "✎", stop: "■", broken: "!", cut: "⋮", mechanism: "◆" };
  const JUDGED = { good: "✓", bad: "✗", warn: "?" };
  const byId = (id) => document.getElementById(id);
  const status = byId("status");
  const blocks = new Map();
  let index = null;
  let chosen = [];
  let shown = PAGE;

  const element = (tag, className, text) => {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined && text !== null) made.textContent = text;
    return made;
  };

  // Decodes one packed element: base64 of zlib of JSON.
  const unpack = async (id) => {
    const bytes = Uint8Array.from(atob(JSON.parse(byId(id).textContent)), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  };

  const traceOf = async (row) => {
    const block = index.block[row];
    if (!blocks.has(block)) {
      if (blocks.size > 8) blocks.delete(blocks.keys().next().value);
      blocks.set(block, unpack(`block-${block}`));
    }
    return (await blocks.get(block))[index.at[row]];
  };

  const step = (told, isNewTurn) => {
    const item = element("li", `step ${told.kind} ${told.tone}${isNewTurn ? " turn" : ""}`);
    item.append(element("span", "number", isNewTurn ? told.turn : ""));
    const line = element("div");
    const symbol = SYMBOLS[told.kind] || JUDGED[told.tone] || "?";
    line.append(element("span", "label", `${symbol} ${told.label}`));
    if (told.meta) line.append(" ", element("span", "meta", told.meta));
    item.append(line);
    if (told.text && told.kind === "retry") {
      const folded = element("details");
      folded.append(element("summary", "", "each try"), element("pre", "", told.text));
      item.append(folded);
    } else if (told.text) {
      const text = element("pre", "", told.text);
      if (told.text.length > 1200) text.tabIndex = 0;
      item.append(text);
    }
    return item;
  };

  // How much of each cap was used, as bars with their numbers.
  const gauges = (told) => {
    const list = element("ul", "gauges");
    list.setAttribute("aria-label", "Caps");
    for (const one of told) {
      const item = element("li");
      const bar = element("meter");
      bar.max = 1;
      bar.high = 0.99;
      bar.optimum = 0;
      bar.value = Math.min(1, one.share);
      bar.setAttribute("aria-label", one.meter);
      item.append(bar, ` ${one.meter} ${one.used}`);
      list.append(item);
    }
    return list;
  };

  const heading = (head) => {
    const box = element("div", "head");
    box.append(element("h3", "", `${head.task} · ${head.variant} · trial ${head.index}`));
    box.append(element("p", `ending outcome ${head.outcome}`, `${MARKS[head.outcome]} ${head.ending}`));
    box.append(element("p", "about", [`stop ${head.stop}`, ...head.facts].join(" · ")));
    box.append(element("p", "about", [head.nature, `seed ${head.seed}`, head.tokens].join(" · ")));
    if (head.gauges.length) box.append(gauges(head.gauges));
    return box;
  };

  const listed = (steps) => {
    const list = element("ol");
    let turn = null;
    for (const told of steps) {
      list.append(step(told, told.turn !== turn));
      turn = told.turn;
    }
    return list;
  };

  // The failing trial whose pair a trial belongs to: itself, or one of the same task and variant, that which it is held beside first; else -1.
  const partner = (row) => {
    if (index.beside[row] >= 0) return row;
    const own = index.beside.indexOf(row);
    if (own >= 0 || OUTCOMES[index.outcome[row]] !== "passed") return own;
    return index.beside.findIndex(
      (other, at) => other >= 0 && index.task[at] === index.task[row] && index.variant[at] === index.variant[row],
    );
  };

  const pairing = (row, failed) => {
    const beside = index.beside[failed];
    if (row === failed) return `Hold it beside trial ${index.trial[beside]}, which passed`;
    if (row === beside) return `Hold it beside trial ${index.trial[failed]}, which failed`;
    return `See where trial ${index.trial[failed]}, which failed, parts from trial ${index.trial[beside]}, which passed too`;
  };

  const story = ({ head, steps }, row) => {
    const box = element("article", `story ${head.outcome}`);
    box.tabIndex = -1;
    box.append(heading(head));
    const failed = partner(row);
    if (failed >= 0) {
      const link = element("a", "", pairing(row, failed));
      link.href = `#pair/${failed}`;
      box.append(link);
    }
    box.append(steps.length ? listed(steps) : element("p", "about", "No trace of this trial was kept."));
    return box;
  };

  // The steps of a trial up to its tool call number `act`, that call left to what follows.
  const before = (steps, act) => {
    const at = steps.findIndex((told) => told.act === act + 1);
    const last = steps.findLastIndex((told) => told.act > 0 && told.act <= act);
    let end = at < 0 ? last + 1 : at;
    if (at < 0) while (end < steps.length && (steps[end].kind === "result" || steps[end].kind === "retry")) end += 1;
    // The model's words that asked for the call belong to where the two part.
    while (end > 0 && at >= 0 && steps[end - 1].turn === steps[at].turn && steps[end - 1].kind !== "result") end -= 1;
    return end;
  };

  const columns = (className, left, right) => {
    const box = element("div", `sides ${className}`);
    left.classList.add("side");
    right.classList.add("side");
    box.append(left, right);
    return box;
  };

  const side = ({ head, steps }, from, to) => {
    const box = element("div");
    box.append(element("p", `outcome ${head.outcome}`, `${MARKS[head.outcome]} trial ${head.index}`), listed(steps.slice(from, to)));
    return box;
  };

  const calls = (number) => (number === 1 ? "1 tool call" : `${number} tool calls`);

  // Where two trials part, of which the failing one made `made` tool calls, the passing one `instead`, both the same `common` first ones.
  const parting = (common, made, instead) => {
    if (common === Math.max(made, instead)) {
      const alike = common === 0 ? "Neither of them called a tool" : `They make the same ${calls(common)} and no other`;
      return `${alike}: they differ only in what they said, in results and in how they ended.`;
    }
    const first = common === 0 ? "" : `They make the same ${calls(common)}; then `;
    if (common < made && common < instead) return first === "" ? "They part at the first tool call." : `${first}they part.`;
    const [ended, went] = common === made ? ["failing", "passing"] : ["passing", "failing"];
    return `${first === "" ? "T" : `${first}t`}he ${ended} one ends, and the ${went} one goes on.`;
  };

  // A failing trial and the passing one that goes along with it longest: what they share, then where they part.
  const pair = async (row) => {
    const other = index.beside[row];
    const common = index.common[row];
    const [failed, passed] = [await traceOf(row), await traceOf(other)];
    const [made, instead] = [failed, passed].map((told) => Math.max(0, ...told.steps.map((one) => one.act)));
    byId("pair-lede").textContent = parting(common, made, instead);
    const body = byId("pair-body");
    const heads = [failed, passed].map((told) => {
      const head = element("div", `story ${told.head.outcome}`);
      head.append(heading(told.head));
      return head;
    });
    const [a, b] = [failed, passed].map((told) => before(told.steps, common));
    body.replaceChildren(columns("heads", heads[0], heads[1]));
    if (a > 0 || b > 0) {
      const shared = element("details");
      shared.open = common <= 2;
      shared.append(element("summary", "", common === 0 ? "Before it" : `The ${calls(common)} that they share`));
      shared.append(columns("", side(failed, 0, a), side(passed, 0, b)));
      body.append(shared);
    }
    body.append(element("h3", "parting", common === Math.max(made, instead) ? "▼ What is left of each" : "▼ Here they part"));
    body.append(columns("", side(failed, a), side(passed, b)));
    const section = byId("pair");
    section.hidden = false;
    section.scrollIntoView();
    section.focus({ preventScroll: true });
  };

  const part = () => {
    byId("pair").hidden = true;
    byId("pair-body").replaceChildren();
    location.hash = "#trials";
    byId("trials").querySelector("button.read")?.focus({ preventScroll: true });
  };

  const close = (button) => {
    button.closest("tr").nextElementSibling.remove();
    button.setAttribute("aria-expanded", "false");
  };

  const open = async (row, button) => {
    button.setAttribute("aria-expanded", "true");
    const holder = element("tr", "story-row");
    const cell = element("td");
    cell.colSpan = 9;
    holder.append(cell);
    button.closest("tr").after(holder);
    try {
      const box = story(await traceOf(row), row);
      cell.append(box);
      box.focus({ preventScroll: true });
    } catch (error) {
      cell.append(element("p", "note", `This trace cannot be unpacked here: ${error.message}`));
    }
  };

  // The name of a trial's task; it opens the trace where the page holds it.
  const opener = (row) => {
    const cell = element("th");
    cell.scope = "row";
    const name = index.tasks[index.task[row]][1];
    if (index.block[row] < 0) {
      cell.append(name, element("small", "", "trace left out"));
      return cell;
    }
    const button = element("button", "read", name);
    button.type = "button";
    button.setAttribute("aria-expanded", "false");
    button.setAttribute("aria-label", `Trace of ${name}, ${index.variants[index.variant[row]]}, trial ${index.trial[row]}`);
    button.addEventListener("click", () => (button.getAttribute("aria-expanded") === "true" ? close(button) : open(row, button)));
    cell.append(button);
    return cell;
  };

  const rowOf = (row) => {
    const line = element("tr");
    line.id = `trial/${row}`;
    const outcome = OUTCOMES[index.outcome[row]];
    line.append(element("td", `outcome ${outcome}`, `${MARKS[outcome]} ${outcome}`), opener(row));
    line.append(element("td", "", index.variants[index.variant[row]]));
    line.append(element("td", "n", index.trial[row]), element("td", "word", index.stops[index.stop[row]]));
    line.append(element("td", "n", index.turns[row] ?? "–"));
    for (const column of ["tokens", "usd", "seconds"]) line.append(element("td", "n nowrap", index[column][row]));
    return line;
  };

  const trials = (count) => (count === 1 ? "trial" : "trials");

  const draw = () => {
    byId("rows").replaceChildren(...chosen.slice(0, shown).map(rowOf));
    byId("more").hidden = chosen.length <= shown;
    const number = (value) => value.toLocaleString("en-US");
    status.textContent = `${number(Math.min(shown, chosen.length))} of ${number(chosen.length)} chosen ${trials(chosen.length)} shown`;
  };

  const choose = () => {
    const words = byId("f-task").value.toLowerCase();
    const [variant, outcome, stop] = ["f-variant", "f-outcome", "f-stop"].map((id) => byId(id).value);
    const fits = index.tasks.map(([suite, task]) => `${suite} / ${task}`.toLowerCase().includes(words));
    chosen = [];
    for (let row = 0; row < index.task.length; row += 1) {
      if (variant !== "" && index.variant[row] !== Number(variant)) continue;
      if (outcome !== "" && index.outcome[row] !== Number(outcome)) continue;
      if (stop !== "" && index.stop[row] !== Number(stop)) continue;
      if (fits[index.task[row]]) chosen.push(row);
    }
    shown = PAGE;
    draw();
  };

  const clear = () => {
    for (const id of ["f-task", "f-variant", "f-outcome", "f-stop"]) byId(id).value = "";
  };

  // #trials/TASK/VARIANT shows the trials of a cell, #trial/ROW opens a trace, #pair/ROW holds it beside a passing one.
  const follow = () => {
    const [where, first, second] = location.hash.slice(1).split("/");
    if (where === "trials" && second !== undefined && index.tasks[first]) {
      clear();
      byId("f-variant").value = second;
      choose();
      chosen = chosen.filter((row) => index.task[row] === Number(first));
      draw();
      status.textContent = `${chosen.length} ${trials(chosen.length)} of ${index.tasks[first][1]} under ${index.variants[second]}`;
      byId("trials").scrollIntoView();
    } else if (where === "trial" && index.task[first] !== undefined) {
      clear();
      chosen = [Number(first)];
      draw();
      byId("trials").scrollIntoView();
      const button = byId("rows").querySelector("button");
      if (button) button.click();
    } else if (where === "pair" && index.beside[first] >= 0) {
      pair(Number(first)).catch((error) => {
        byId("pair-lede").textContent = `These traces cannot be unpacked here: ${error.message}`;
        byId("pair").hidden = false;
      });
    }
  };

  const options = (id, names) => {
    names.forEach((name, place) => {
      const option = element("option", "", name);
      option.value = place;
      byId(id).append(option);
    });
  };

  const start = async () => {
    document.documentElement.classList.add("script");
    if (typeof DecompressionStream === "undefined") {
      status.textContent = "This browser cannot unpack the traces; a newer one can.";
      return;
    }
    index = await unpack("index");
    options("f-variant", index.variants);
    options("f-outcome", OUTCOMES);
    options("f-stop", index.stops);
    byId("f-task").addEventListener("input", choose);
    for (const id of ["f-variant", "f-outcome", "f-stop"]) byId(id).addEventListener("change", choose);
    byId("filters").addEventListener("reset", () => setTimeout(choose));
    byId("filters").addEventListener("submit", (event) => event.preventDefault());
    byId("more").addEventListener("click", () => {
      shown += PAGE;
      draw();
    });
    byId("pair-close").addEventListener("click", part);
    byId("pair").addEventListener("keydown", (event) => {
      if (event.key === "Escape") part();
    });
    choose();
    window.addEventListener("hashchange", follow);
    follow();
  };

  start();
})();
