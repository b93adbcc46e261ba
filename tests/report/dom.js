// Just enough of a browser for the page's script: elements that remember what they are told.
const fs = require("fs");
const made = new Map();
const element = (id) => {
  const own = {
    id, dataset: {}, style: {}, children: [], rows: [], cells: [], value: "", checked: false, hidden: false, textContent: "", clientWidth: 800,
    attributes: {}, listeners: {},
    classList: { toggle() {} },
    setAttribute(key, value) { own.attributes[key] = value; },
    removeAttribute(key) { delete own.attributes[key]; },
    append(...more) { own.children.push(...more); },
    replaceChildren(...more) { own.children = more; },
    addEventListener(name, what) { own.listeners[name] = what; },
    click() {},
  };
  return own;
};
const find = (id) => { if (!made.has(id)) made.set(id, element(id)); return made.get(id); };
const page = fs.readFileSync(process.argv[2], "utf-8");
const between = (start, end) => page.slice(page.indexOf(start) + start.length, page.indexOf(end, page.indexOf(start)));
find("data").textContent = between('<script type="application/json" id="data">', "</script>");
const table = find("table");
table.tHead = { rows: [Object.assign(element("head"), { cells: [] })] };
table.tBodies = [element("body")];
globalThis.window = globalThis;
globalThis.addEventListener = () => {};
globalThis.document = {
  documentElement: element("root"), getElementById: find, querySelector: () => element("any"), querySelectorAll: () => [],
  createElement: element, createElementNS: (_, tag) => element(tag), createDocumentFragment: () => element("fragment"), addEventListener() {},
};
const script = page.slice(page.lastIndexOf("<script>") + 8, page.lastIndexOf("</script>"));
new Function(script)();
const answers = JSON.parse(process.argv[3]).map((level) => {
  find("level-number").listeners.input({ target: { value: String(level) } });
  return { selected: window.neuralmirror.reselect(level), told: find("sentence").textContent, fdp: find("state-fdp").textContent, error: find("level-error").textContent };
});
console.log(JSON.stringify(answers));
