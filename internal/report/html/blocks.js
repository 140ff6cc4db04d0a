// Blocks hold gzipped JSON in base64. A block is decoded when it is first needed; the last used
// blocks stay in memory.
const decoded = new Map();
const keptBlocks = 48;

function block(id) {
  let known = decoded.get(id);
  if (known) {
    decoded.delete(id); // now the last used
  } else {
    known = blockText(id).then((text) => JSON.parse(text));
  }
  decoded.set(id, known);
  while (decoded.size > keptBlocks) decoded.delete(decoded.keys().next().value);
  return known;
}

