export default { onCaseBegin() {} };
