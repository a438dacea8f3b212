export const jobs = [
  { name: "copy", done: 100 },
  { name: "index", done: 75 },
  { name: "check", done: 40 },
  { name: "report", done: 15 },
];
