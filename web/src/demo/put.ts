// Asks the program for something.

/** Returns why it was not granted, in words; nothing if it was. Never rejects. */
export async function put(path: string, body: string): Promise<string> {
  try {
    const answer = await fetch(path, { method: "PUT", body });
    return answer.ok ? "" : sentence(await answer.text());
  } catch {
    return "The demo does not answer.";
  }
}

function sentence(text: string): string {
  const trimmed = text.trim();
  const whole = /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`;
  return `${whole.charAt(0).toUpperCase()}${whole.slice(1)}`;
}
