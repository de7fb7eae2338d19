// Your own photo: choose it, take it, or drop it anywhere in the view.
import { el } from "./elements.js";

const KINDS = "image/jpeg,image/png,image/webp"; // named, so that an iPhone hands over its photos as JPEG

function chooser(words, props, opened, kind) {
  const input = el("input", { type: "file", hidden: true, "aria-label": words, ...props });
  input.addEventListener("change", () => {
    const files = [...input.files];
    input.value = ""; // so that the same photo can be chosen again
    if (files.length) opened(files);
  });
  return [el("button", { type: "button", class: kind, onclick: () => input.click() }, words), input];
}

// `opened` is told the files. Files of numbers may be dropped, too. Nothing to see if the service reads no photos.
export function photoBar(section, model, opened, title = "What is in your photo?") {
  const inside = (event) => event.dataTransfer?.types.includes("Files");
  section.addEventListener("dragover", (event) => {
    if (!inside(event)) return;
    event.preventDefault();
    section.classList.add("dropping");
  });
  section.addEventListener("dragleave", (event) => {
    if (!section.contains(event.relatedTarget)) section.classList.remove("dropping");
  });
  section.addEventListener("drop", (event) => {
    section.classList.remove("dropping");
    if (!inside(event)) return;
    event.preventDefault();
    if (event.dataTransfer.files.length) opened([...event.dataTransfer.files]);
  });
  if (!model.photos) return "";
  return el(
    "div",
    { class: "photobar" },
    title && el("p", { class: "strong" }, title),
    el(
      "div",
      { class: "row" },
      chooser("Choose photos", { accept: KINDS, multiple: true }, opened, title === "Or drop a photo" ? "" : "main"),
      el("span", { class: "camera" }, chooser("Take a photo", { accept: "image/*", capture: "environment" }, opened)),
      el("span", { class: "quiet mouse" }, "or drop them anywhere here"),
    ),
    el("p", { class: "quiet" }, "JPEG, PNG or WebP. The service looks at a photo and keeps nothing of it."),
  );
}
