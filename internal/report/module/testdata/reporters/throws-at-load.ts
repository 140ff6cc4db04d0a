throw new Error("at load"); export default {};
