// A button on each block of code that copies it, and a link to each picture, which a narrow window shows small.
document.addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll(".highlight")) {
    const button = document.createElement("button");
    button.className = "copy";
    button.type = "button";
    button.textContent = "copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(block.querySelector("pre").textContent);
      button.textContent = "copied";
      setTimeout(() => (button.textContent = "copy"), 1500);
    });
    block.append(button);
  }
  for (const picture of document.querySelectorAll("article img")) {
    const link = document.createElement("a");
    link.className = "picture";
    link.href = picture.src;
    picture.replaceWith(link);
    link.append(picture);
  }
});
