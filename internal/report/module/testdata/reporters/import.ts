import "left-pad"; export default {};
