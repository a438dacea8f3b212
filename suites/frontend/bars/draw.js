import { jobs } from "./jobs.js";

const place = document.getElementById("jobs");

for (const job of jobs) {
  const track = document.createElement("div");
  track.className = "track";
  const bar = document.createElement("div");
  bar.className = job.done > 75 ? "bar high" : "bar low";
  bar.style.width = `${job.done}px`;
  track.append(bar);
  place.append(track);
}
