// Follows every change of the form: requests the same page again and puts its new parts in place. There is one request
// at a time; changes made meanwhile are requested next, so that the last entry wins.
"use strict";
{
  const form = document.querySelector("form");
  const result = document.getElementById("result");
  const status = document.querySelector(".status");
  const epsilon = document.getElementById("epsilon");
  const slider = document.getElementById("slider");
  let timer = 0;
  let busy = false;
  let again = false;
  let copied = 0;

  // The slider is logarithmic, from 0.05 to 10, with a hundred steps for a factor of ten; ε has two digits.
  const toEpsilon = (place) => String(Number((0.05 * 10 ** (place / 100)).toPrecision(2)));
  const toPlace = (value) => Math.round(100 * Math.log10(value / 0.05));

  function placeSlider() {
    const value = Number(epsilon.value);
    if (value > 0) slider.value = String(toPlace(value));
    slider.setAttribute("aria-valuetext", "ε = " + epsilon.value);
  }

  function put(fresh) {
    for (const message of form.querySelectorAll(".error")) {
      const other = fresh.getElementById(message.id);
      if (message.textContent !== other.textContent) message.textContent = other.textContent;
    }
    for (const control of form.querySelectorAll("[aria-describedby]")) {
      const invalid = fresh.getElementById(control.id)?.getAttribute("aria-invalid");
      if (invalid) control.setAttribute("aria-invalid", invalid);
      else control.removeAttribute("aria-invalid");
    }
    const other = fresh.getElementById("result");
    const wrong = other.dataset.errors !== "0";
    result.classList.toggle("stale", wrong);
    if (wrong) {
      status.textContent = "Correct the highlighted field; the numbers shown are from before.";
      return;
    }
    const held = result.contains(document.activeElement) ? document.activeElement.id : "";
    const open = result.querySelector("details")?.open;
    result.replaceChildren(...document.adoptNode(other).childNodes);
    const details = result.querySelector("details");
    if (details && open) details.open = true;
    if (held) document.getElementById(held)?.focus();
    status.textContent = other.dataset.said;
  }

  async function update() {
    timer = 0;
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    const address = "/?" + new URLSearchParams(new FormData(form));
    try {
      const answer = await fetch(address, { cache: "no-store" });
      if (!answer.ok) throw new Error(String(answer.status));
      put(new DOMParser().parseFromString(await answer.text(), "text/html"));
      history.replaceState(null, "", address);
    } catch {
      status.textContent = "No answer. Is flexdp web still running in its terminal?";
    }
    busy = false;
    if (again) {
      again = false;
      update();
    }
  }

  function typed() {
    clearTimeout(timer);
    timer = setTimeout(update, 150);
  }

  async function copy(button) {
    const line = document.getElementById("command");
    try {
      await navigator.clipboard.writeText(line.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(line);
      button.textContent = "Press Ctrl-C";
    }
    status.textContent = button.textContent;
    clearTimeout(copied);
    copied = setTimeout(() => {
      const now = document.getElementById("copy");
      if (now) now.textContent = "Copy";
    }, 2000);
  }

  slider.addEventListener("input", () => {
    epsilon.value = toEpsilon(slider.value);
    slider.setAttribute("aria-valuetext", "ε = " + epsilon.value);
    timer ||= setTimeout(update, 20); // while it is dragged, not only once it rests
  });
  epsilon.addEventListener("input", placeSlider);
  form.addEventListener("input", (event) => event.target !== slider && typed());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    update();
  });
  result.addEventListener("click", (event) => event.target.id === "copy" && copy(event.target));
  document.documentElement.classList.add("script");
  placeSlider();
}
