// The blocks are beside the page, which lists their addresses.
const addresses = JSON.parse($("addresses").textContent);

async function blockText(id) {
  const answer = await fetch(addresses[id]);
  if (!answer.ok) throw new Error("block " + id + " cannot be loaded: " + answer.status);
  return answer.text();
}

