export default function suite() {}
