(() => {
  const root = document.documentElement, button = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const remember = (theme) => { try { localStorage.setItem("mereo-theme", theme); } catch { /* from disk some browsers keep nothing */ } };
  const recall = () => { try { return localStorage.getItem("mereo-theme"); } catch { return null; } };
  const now = () => root.dataset.theme ?? (dark.matches ? "dark" : "light");
  const label = () => { button.textContent = now() === "dark" ? "Light" : "Dark"; button.title = `Switch to ${button.textContent.toLowerCase()} colours`; };
  const chosen = recall();
  if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;
  button.onclick = () => { root.dataset.theme = now() === "dark" ? "light" : "dark"; remember(root.dataset.theme); label(); };
  dark.addEventListener("change", label);
  label();
  button.hidden = false;
})();
