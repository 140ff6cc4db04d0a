async function blockText(id) {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("this browser cannot decompress the sessions: use Chromium 86, Firefox 113, Safari 16.4 or later");
  }
  const source = $("b" + id);
  if (!source) throw new Error("block " + id + " is missing: the file may be incomplete");
  const packed = atob(source.textContent);
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

